"""The protocol's methods: tools and resources, with errors in its own form."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any, Final, Protocol, TypeVar

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from ..errors import SparcSearchError
from ..inspection.plain import to_json
from .asking import Asking
from .indexes import SCHEME
from .quoting import NOTE, cut, plain, quoted
from .results import DocumentList
from .tools import INSTRUCTIONS, ToolKind, ToolLimits, checked, tool_kinds

log = logging.getLogger("sparc_search.mcp")

Context = ServerRequestContext[Any, Any]
Result = TypeVar("Result")
_PAGE: Final = 100
"""Resources of one page of their list."""
_READS_ONLY: Final = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


class RunInTurn(Protocol):
    """Does some work in a thread when it is its turn; `SparcSearchError` if that is not to be expected soon."""

    def __call__(self, work: Callable[[], Result], /) -> Awaitable[Result]:
        """Do it."""


def create_server(asking: Asking, run: RunInTurn, limits: ToolLimits | None = None) -> Server[Any]:
    """A server of the protocol over these indexes."""
    methods = _Methods(asking, run, limits or ToolLimits())
    return Server(
        "sparc-search",
        version=version("sparc-search"),
        title="sparc-search",
        description="Answers with exact sources from your own documents.",
        instructions=INSTRUCTIONS,
        on_list_tools=methods.list_tools,
        on_call_tool=methods.call_tool,
        on_list_resources=methods.list_resources,
        on_list_resource_templates=methods.list_resource_templates,
        on_read_resource=methods.read_resource,
    )


class _Methods:
    def __init__(self, asking: Asking, run: RunInTurn, limits: ToolLimits) -> None:
        self._asking, self._run, self._limits = asking, run, limits
        self._kinds = {kind.name: kind for kind in tool_kinds(limits, asking.indexes.names)}

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """`tools/list`."""
        return types.ListToolsResult(tools=[_described(kind) for kind in self._kinds.values()])

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """`tools/call`: what goes wrong is a result that the model can read, and do better."""
        kind = self._kinds.get(params.name)
        if kind is None:
            known = ", ".join(self._kinds)
            raise MCPError(
                types.INVALID_PARAMS, f"there is no tool {cut(quoted(params.name), 100)!r}; known are: {known}"
            )
        try:
            arguments = checked(kind, params.arguments or {})
            found = await self._run(lambda: plain(to_json(kind.work(self._asking, arguments)), self._limits.text))
        except Exception as error:
            said = _told(error, f"tools/call {kind.name}")
            return types.CallToolResult(content=[types.TextContent(text=said)], is_error=True)
        text = json.dumps(found, ensure_ascii=False, allow_nan=False)
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=found)

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """`resources/list`: every document, by page."""
        cursor = (params.cursor if params else None) or ""
        listed = await self._protocol(lambda: self._asking.list_documents("", {}, _PAGE, cursor), "resources/list")
        return types.ListResourcesResult(resources=list(self._resources(listed)), next_cursor=listed.next_cursor)

    async def list_resource_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """`resources/templates/list`."""
        template = types.ResourceTemplate(
            name="document",
            title="A document",
            uri_template=f"{SCHEME}://{{index}}/documents/{{id}}",
            description=f"The whole text of a document; the id is percent-encoded. {NOTE}",
            mime_type="text/plain",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """`resources/read`: the whole text of a document."""
        uri = str(params.uri)
        text = await self._protocol(lambda: quoted(self._asking.text_at(uri)), "resources/read")
        contents = types.TextResourceContents(
            uri=uri, mime_type="text/plain", text=cut(text, self._limits.resource), _meta={f"{SCHEME}/note": NOTE}
        )
        return types.ReadResourceResult(contents=[contents])

    async def _protocol(self, work: Callable[[], Result], method: str) -> Result:
        """Some work whose failure is an error of the protocol."""
        try:
            return await self._run(work)
        except Exception as error:
            code = types.INVALID_PARAMS if isinstance(error, SparcSearchError) else types.INTERNAL_ERROR
            raise MCPError(code, _told(error, method)) from None

    def _resources(self, listed: DocumentList) -> list[types.Resource]:
        resources = []
        for document in listed.documents:
            name, _, id = self._asking.indexes.located(document.id)
            resources.append(
                types.Resource(
                    uri=self._asking.indexes.address(name, id),
                    name=cut(quoted(id), self._limits.question),
                    title=cut(quoted(document.title), self._limits.question),
                    mime_type="text/plain",
                )
            )
        return resources


def _described(kind: ToolKind) -> types.Tool:
    return types.Tool(
        name=kind.name,
        title=kind.title,
        description=kind.description,
        input_schema=kind.schema,
        output_schema=_short(TypeAdapter(kind.gives).json_schema()),
        annotations=_READS_ONLY,
    )


def _short(schema: Any) -> Any:
    """A schema without titles that repeat names; what may be None is left out of results, so it never is null."""
    if isinstance(schema, list):
        return [_short(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        return _short(kinds[0])
    return {key: _short(inner) for key, inner in schema.items() if key != "title" or isinstance(inner, dict)}


def _told(error: Exception, method: str) -> str:
    """An error in a sentence; of one that was not foreseen nothing is told."""
    if isinstance(error, SparcSearchError):
        return quoted(
            f"{error.message}. {error.remedy[:1].upper()}{error.remedy[1:]}" if error.remedy else error.message
        )
    log.error("%s failed", method, exc_info=error)
    return "something went wrong here; the server's log has the details"
