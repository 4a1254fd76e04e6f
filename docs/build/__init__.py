"""What builds the site: its pages, tables of measured rows, figures, notebooks and reports."""
