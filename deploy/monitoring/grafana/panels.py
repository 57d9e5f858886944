"""Grafana's JSON of a dashboard, as dictionaries: schema 38, which Grafana 9.5 and later read.

Options that Grafana's published types require are all written, also those at their default
(tests/monitoring/grafana_types_test.py)."""

SCHEMA_VERSION = 38
COLUMNS = 24
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def query(expression, legend="", instant=False, style="time_series"):
    """One query of a panel. Lines of `expression` may be broken anywhere."""
    return {"expr": " ".join(expression.split()), "legendFormat": legend, "instant": instant,
            "range": not instant, "format": style, "datasource": DATA_SOURCE}


def _panel(kind, title, description, queries, width, height, unit, options, **defaults):
    for index, each in enumerate(queries):
        each["refId"] = chr(ord("A") + index)
    return {"type": kind, "title": title, "description": description, "datasource": DATA_SOURCE,
            "targets": queries, "gridPos": {"w": width, "h": height}, "options": options,
            "fieldConfig": {"defaults": {"unit": unit, **defaults}, "overrides": []}}


def stat(title, unit, expression, description, bad_above=None, width=4):
    """One figure; red above `bad_above`, where that is given."""
    steps = [{"color": "text", "value": None}]
    if bad_above is not None:
        steps = [{"color": "green", "value": None}, {"color": "red", "value": bad_above}]
    options = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
               "colorMode": "value", "graphMode": "none", "textMode": "value",
               "justifyMode": "auto", "orientation": "auto", "wideLayout": True,
               "showPercentChange": False, "percentChangeColorMode": "standard"}
    return _panel("stat", title, description, [query(expression, instant=True)], width, 4, unit,
                  options, noValue="no data", thresholds={"mode": "absolute", "steps": steps})


def timeseries(title, unit, queries, description, width=12, least=0, most=None):
    """Lines over time; `queries` is a list of (expression, legend)."""
    options = {"legend": {"showLegend": True, "displayMode": "table", "placement": "bottom",
                          "calcs": ["lastNotNull"]},
               "tooltip": {"mode": "multi", "sort": "desc"}}
    limits = {name: limit for name, limit in (("min", least), ("max", most)) if limit is not None}
    return _panel("timeseries", title, description,
                  [query(expression, legend) for expression, legend in queries], width, 9, unit,
                  options, custom={"lineWidth": 1, "fillOpacity": 0, "spanNulls": False}, **limits)


def heatmap(title, unit, expression, legend, description, style="time_series", width=12):
    """Counts by bucket over time; `legend` is a bucket's bound."""
    options = {"calculate": False, "cellGap": 1, "yAxis": {"unit": unit},
               "color": {"mode": "scheme", "scheme": "Blues", "steps": 32, "reverse": False,
                         "fill": "dark-orange", "exponent": 0.5},
               "legend": {"show": True}, "showValue": "never",
               "exemplars": {"color": "rgba(255,0,255,0.7)"},
               "tooltip": {"mode": "single", "yHistogram": False}}
    return _panel("heatmap", title, description, [query(expression, legend, style=style)], width,
                  9, "short", options)


def table(title, columns, description, labels, width=24, links=None):
    """A row a series. `columns` is a list of (heading, unit, expression), joined by their labels,
    `labels` the labels shown, in order, with their headings; `links` are addresses by heading."""
    single = len(columns) == 1
    values = ["Value" if single else f"Value #{chr(ord('A') + i)}" for i in range(len(columns))]
    renamed = {**labels, **{value: heading
                            for value, (heading, _, _) in zip(values, columns)}}
    hidden = ["Time", "__name__", "instance", "job", "pci_bus_id", "alertstate", "severity"]
    organize = {"excludeByName": {name: True for name in hidden if name not in labels},
                "indexByName": {name: i for i, name in enumerate(renamed)},
                "renameByName": renamed}
    panel = _panel("table", title, description,
                   [query(expression, instant=True, style="table")
                    for _, _, expression in columns], width, 9, "short",
                   {"showHeader": True, "cellHeight": "sm", "frameIndex": 0}, noValue="none")
    panel["transformations"] = [{"id": "merge", "options": {}},
                                {"id": "organize", "options": organize}]
    overrides = [(heading, {"id": "unit", "value": unit}) for heading, unit, _ in columns]
    overrides += [(heading, {"id": "links", "value": [{"title": "Show", "url": url}]})
                  for heading, url in (links or {}).items()]
    panel["fieldConfig"]["overrides"] = [
        {"matcher": {"id": "byName", "options": heading}, "properties": [one]}
        for heading, one in overrides]
    return panel


def row(title):
    return {"type": "row", "title": title, "collapsed": False, "panels": [],
            "gridPos": {"w": COLUMNS, "h": 1}}


def variable(name, label, expression, many=True):
    """A choice of label values; of all, unless `many` is false."""
    found = {"name": name, "label": label, "type": "query", "datasource": DATA_SOURCE,
             "query": {"query": expression, "refId": name},
             "refresh": 2, "sort": 1, "multi": many, "includeAll": many, "hide": 0}
    if many:
        found["allValue"] = ".*"
        found["current"] = {"selected": True, "text": ["All"], "value": ["$__all"]}
    return found


def _place(panels):
    """Numbers panels, and places them from left to right in rows of equal height."""
    x = y = height = 0
    for number, panel in enumerate(panels, 1):
        place = panel["gridPos"]
        if x + place["w"] > COLUMNS:
            x, y, height = 0, y + height, 0
        place.update(x=x, y=y)
        panel["id"] = number
        x, height = x + place["w"], max(height, place["h"])
    return panels


def dashboard(name, title, description, variables, panels):
    source = {"name": "datasource", "label": "Data source", "type": "datasource",
              "query": "prometheus", "hide": 0}
    others = {"type": "dashboards", "tags": ["sextant"], "asDropdown": True, "title": "Sextant",
              "tooltip": "Sextant's other dashboards", "icon": "external link",
              "targetBlank": False, "includeVars": False, "keepTime": True}
    return {"uid": f"sextant-{name}", "id": None, "title": f"Sextant / {title}",
            "description": description, "tags": ["sextant"], "schemaVersion": SCHEMA_VERSION,
            "version": 1, "editable": True, "refresh": "1m", "timezone": "",
            "time": {"from": "now-6h", "to": "now"}, "links": [others],
            "templating": {"list": [source, *variables]}, "annotations": {"list": []},
            "panels": _place(panels)}
