"""The task `volumes`: classes of scans."""
