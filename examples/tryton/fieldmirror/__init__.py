"""Keeps parties of Tryton and customers of Fieldmirror the same."""
