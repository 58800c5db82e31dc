def make_slug(title):
    return title
