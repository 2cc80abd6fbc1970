"""The servers that only tests run. Java 24 took away the security manager that they still use."""

from __future__ import annotations

from typing import Final

from sparc_search.servers.products import OPENSEARCH, Artifact, Product

MAPPER_EXTRAS: Final = """description=Adds advanced field mappers
version={version}
{name}.version={version}
name=mapper-extras
classname=org.{name}.index.mapper.MapperExtrasPlugin
java.version=1.8
extended.plugins=
has.native.controller=false
"""

ELASTICSEARCH: Final = Product(
    "elasticsearch",
    "7.17.29",
    (
        Artifact(
            "org.elasticsearch.distribution.integ-test-zip:elasticsearch:7.17.29:zip",
            "841ee00be1a72ba8e707b5a2fb55f23fe7a4184369b4585393238b1c903eedaf",
            57_295_016,
        ),
        Artifact(
            "org.elasticsearch.plugin:mapper-extras-client:7.17.29:jar",
            "3fc4139860139a524b0e56309261c943c90863da0c1bb2d1b0fc86d78f1525cd",
            120_705,
            "modules/mapper-extras",
            MAPPER_EXTRAS.format(name="elasticsearch", version="7.17.29") + "type=isolated\n",
        ),
    ),
    oldest_java=17,
    newest_java=23,
    prefix="ES",
    first_managers="cluster.initial_master_nodes",
    settings={"xpack.security.enabled": False},
)
SECURED: Final = Product(
    "opensearch",
    "2.19.1",
    (
        Artifact(
            "org.opensearch.distribution.integ-test-zip:opensearch:2.19.1:zip",
            "af7152d8b7f6f1cee09d47276b32b70479fe6dd8cdbb61213f84eb7f8098b261",
            51_391_430,
        ),
        Artifact(
            "org.opensearch.plugin:mapper-extras-client:2.19.1:jar",
            "93e85f305ddc3070fea5b83cc8d962bdcd30df20638352b02cf57276cc2bc5d5",
            84_960,
            "modules/mapper-extras",
            MAPPER_EXTRAS.format(name="opensearch", version="2.19.1"),
        ),
        Artifact(
            "org.opensearch.plugin:opensearch-security:2.19.1.0:zip",
            "94a04f12ac6033902209fac1e4e512618d45beee604bbf0e42c3ed79c55220cf",
            43_828_219,
            "plugins/opensearch-security",
        ),
    ),
    oldest_java=17,
    newest_java=23,
)
PRODUCTS: Final = (OPENSEARCH, ELASTICSEARCH, SECURED)
