"""Small data sets, one with a leak or none at all per maker: `maker(folder, draw)` writes files and gives settings."""
