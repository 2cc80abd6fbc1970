#!/usr/bin/env bash
# Keys, certificates, users and roles of a secured OpenSearch. What is there already stays as it is.
#
#   secure.sh FOLDER NAME...
#
# FOLDER is config/opensearch-security of the nodes; NAMEs are the hosts and addresses under which they are reached.
# The environment names OPENSEARCH_HOME and JAVA_HOME, and holds the passwords of the four users (see below).
set -euo pipefail

folder=$1
shift
keytool=$JAVA_HOME/bin/keytool
hash=$OPENSEARCH_HOME/plugins/opensearch-security/tools/hash.sh
umask 077
mkdir -p "$folder"
cd "$folder"

if [[ ! -f ca.pem ]]; then
    names=""
    for name in "$@"; do
        if [[ $name =~ ^[0-9.]+$ ]]; then names+=",ip:$name"; else names+=",dns:$name"; fi
    done
    # The stores hold nothing that their folder does not protect, so they have the password that is everyone's default.
    store() { "$keytool" -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC "$@" -storetype PKCS12 -storepass changeit; }
    key() { store -genkeypair -keystore node.p12 -keyalg EC -groupname secp256r1 "$@"; }
    rm -f node.p12 trust.p12
    key -alias authority -validity 3650 -dname "CN=sparc-search-authority" -ext bc:c -ext ku:c=keyCertSign,cRLSign
    key -alias node -validity 825 -dname "CN=sparc-search-node" -signer authority \
        -ext "san=${names#,}" -ext eku=serverAuth,clientAuth -ext ku:c=digitalSignature
    store -exportcert -alias authority -keystore node.p12 -rfc > authority.pem
    store -importcert -alias authority -keystore trust.p12 -file authority.pem -noprompt
    store -delete -alias authority -keystore node.p12 # nobody needs the authority's key again
    mv authority.pem ca.pem
    chmod 644 ca.pem
fi

hash_of() { JAVA_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" "$hash" -env "$1" | tail -n 1; }
admin=$(hash_of OPENSEARCH_ADMIN_PASSWORD)
dashboards=$(hash_of OPENSEARCH_DASHBOARDS_PASSWORD)
ingest=$(hash_of OPENSEARCH_INGEST_PASSWORD)
ask=$(hash_of OPENSEARCH_ASK_PASSWORD)

cat > internal_users.yml <<END
_meta: {type: internalusers, config_version: 2}
admin: {hash: "$admin", reserved: true, backend_roles: [admin]}
kibanaserver: {hash: "$dashboards", reserved: true}
sparc-ingest: {hash: "$ingest"}
sparc-ask: {hash: "$ask"}
END

# The same as in docs/opensearch.md.
cat > roles.yml <<'END'
_meta: {type: roles, config_version: 2}
sparc_ask:
  cluster_permissions: [cluster_composite_ops_ro, cluster_monitor]
  index_permissions:
    - index_patterns: ["sparc-search*"]
      allowed_actions: [read, indices_monitor, "indices:admin/aliases/get", "indices:admin/mappings/get"]
sparc_ingest:
  cluster_permissions: [cluster_composite_ops, cluster_monitor]
  index_permissions:
    - index_patterns: ["sparc-search*"]
      allowed_actions: [indices_all]
END

cat > roles_mapping.yml <<'END'
_meta: {type: rolesmapping, config_version: 2}
all_access: {backend_roles: [admin]}
kibana_server: {users: [kibanaserver], reserved: true}
sparc_ingest: {users: [sparc-ingest]}
sparc_ask: {users: [sparc-ask]}
END
