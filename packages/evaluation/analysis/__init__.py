"""Results of runs, summed up, compared and judged."""
