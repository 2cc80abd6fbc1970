"""See the weights in a browser, and ask over HTTP: `sparc-search serve`.

    app         the application: routes, and the layers around them
    security    who may ask at all: hosts, tokens, headers
    limits      how much one may ask for, and how many at once
    problems    errors as JSON and as a page
    requests    what is in an address, parsed and checked; the same for a page and its JSON twin
    api         JSON                   openapi   its description       downloads  all rows of a listing as a file
    …_page      HTML: ask_page, passage_page, feature_page, index_page, discover_page
    rendering   templates, and strangers' strings made harmless        charts    where bars begin and end
    serving     a socket and a server

It is a thin layer over `sparc_search.inspection`: it computes no weight of its own.
"""
