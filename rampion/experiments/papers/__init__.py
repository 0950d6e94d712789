"""The papers' tables and figures as data, one module or package a paper."""
