"""Scans: NIfTI, DICOM and NumPy files, tables, folders and archives of them, as cases on one grid."""
