"""The studio: a page on this machine on which bandwidths are dragged and colours are clicked.

`meanshiftpp studio` starts a server that only this machine reaches and opens its page:

    guard     who may ask: a token in every address, known hosts, no foreign origin
    wire      a message: words and arrays in one piece
    session   one tab's work: the newest wish wins, and what takes long can be watched and stopped
    image_view, table_view, video_view   what the three views answer
    samples   something to begin with
    server    the app: uploads, downloads, one WebSocket a tab
    page/     the page: HTML, CSS and ES modules, served as they are

A view is a plain object that works in a thread and knows nothing of the network. It computes with
the same functions as everybody else, so what it exports is what the lines it shows would give.
"""
