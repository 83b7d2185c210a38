"""The studio: a local web page for clustering and tracking by eye.

`meanshiftpp studio` starts a server that accepts connections from this machine only, and opens its
page:

    guard         access control: a token in every address, known hosts, no foreign origin
    wire          the binary message format, JSON and arrays in one message
    page_errors, page_warnings   messages, worded for the controls of the page
    session       one tab: the latest request wins; long jobs report progress and can be cancelled
    image_view, table_view, video_view   the three views
    image_labels  labels of a picture at one size, with the results kept for the next request
    image_exports pictures, label images, drawings and palettes for download
    samples       sample files
    server        the web app: uploads, downloads and one WebSocket per tab
    page/         HTML, CSS and ES modules, served without a build step

A view is a plain object that runs in a worker thread and does not know about the network. It calls
the public functions of the package, so an export equals the result of the code that the page shows.
"""
