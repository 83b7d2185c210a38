"""Read and write picture files."""

from meanshiftpp.images.picture import (
    LABEL_FORMATS,
    PICTURE_FORMATS,
    Picture,
    read,
    write,
    write_labels,
)

__all__ = ["LABEL_FORMATS", "PICTURE_FORMATS", "Picture", "read", "write", "write_labels"]
