"""Answers for assistants: the Model Context Protocol over indexes (`sparc-search mcp`, `serve --mcp`).

    server      the protocol's methods: tools, resources, and errors in its own form (needs the extra `mcp`)
    tools       what each tool is called with, checked and described for a language model
    asking      the tools' work, without the protocol: ask, search, fetch, list
    results     what they give
    indexes     several indexes under their names, and the ids of what is in them
    quoting     text of documents made fit to be read by a language model
    messages    what comes in: messages, and what is none
    stdio       one client over standard input and output

It reads and never writes. What it is asked for is checked here; scores and texts are those of `sparc_search.index`.
"""
