/**
 * /docs/cells: how restaurants would be spread over several PostgreSQL clusters behind one fleet of gateways, and what of it
 * exists. A test compares the lists of tables with the schema and the parts that are missing with the route table.
 */

/** Where the rows of each table are when restaurants are in cells. `receipts` of idempotency name a caller, not a restaurant. */
export const tablesByPlace: Readonly<Record<'restaurant' | 'global' | 'cell', readonly string[]>> = {
  restaurant: [
    'ordering.*',
    'outbox.*',
    ...['endpoints', 'endpoint_health', 'deliveries', 'attempts', 'ready', 'redeliveries', 'digests'].map(
      (name) => `webhooks.${name}`,
    ),
    'platform.receipts',
  ],
  global: ['gateway.*', 'panel.*', 'webhooks.signing_keys', 'platform.facts'],
  cell: [
    'webhooks.workers',
    'platform.weekly_tables',
    'platform.declared_migrations',
    'platform.key_holders',
    'platform.migrations',
  ],
};

const listed = (names: readonly string[]): string => names.map((name) => `<code>${name}</code>`).join(', ');

export const cellsPage = (): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Orderpass: cells</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/errors.css">
</head>
<body>
<nav aria-label="Documents"><a href="/docs">Reference</a> <a href="/docs/webhooks">Webhooks</a> <a href="/docs/errors">Error codes</a> <a href="/docs/callers">Who calls</a> <a href="/docs/changelog">Changelog</a></nav>
<main>
<h1>Cells: restaurants on several PostgreSQL clusters</h1>
<p>For operators. A cell is one PostgreSQL cluster with the programs that use it. The first two sections say what exists: any service can be
in cells. The plan after them is for the ordering core, and is not built.</p>

<h2>What exists</h2>
<ul>
<li>An installation has one PostgreSQL database. Gateways, cores and workers are added as needed and share it (<code>DATABASE_URL</code>).
<code>config/deployment.md</code> has the sizes.</li>
<li>Change and event of a restaurant are one transaction. Each of its rows names the restaurant or one of its endpoints, and none refers to
another restaurant, so that a restaurant can be in any cluster as a whole.</li>
<li>An upstream of the route table may be a group of cells, and a directory says which cell has a restaurant (below).</li>
<li>Restaurants can be spread over several whole installations, each with its own gateways, host name, credentials, audit and master key,
with a proxy in front that chooses by host name. No command moves a restaurant from one installation to another: <code>move</code>
takes the whole embedded store.</li>
</ul>

<h2>A service in cells</h2>
<ul>
<li><b>Upstream by tenant.</b> <code>cells</code> of an upstream names one upstream for each cell, and routes name the group:
<code>"shops": {"cells": {"default": "shops-a", "north": "shops-b"}}</code>. The gateway takes the cell of the restaurant that the request acts for:
the only one of the caller, or the one that <code>tenant</code> of the route names. A caller with restaurants in several cells that names
none gets 400. Each cell has its own addresses, TLS, health and identity, so that a statement for one is worthless at another.</li>
<li><b>Directory.</b> <code>gateway.tenants.cell</code>, which <code>restaurant cell --restaurant rst_… --cell north</code> changes. Restaurants
without an entry are in <code>default</code>. Gateways remember the cell with the credential, so that a request costs no look-up, and all
follow a change within a second. The change moves no rows.</li>
<li><b>Global</b> are the gateways with their one database: credentials, limits, quotas, audit and directory. A cell that is away affects its own
restaurants only.</li>
<li><b>A move of a restaurant</b>, for a service of your own: stop its writes in the service (or disable its API access with
<code>restaurant set --api-enabled off</code>), copy its rows, run <code>restaurant cell</code>, allow the writes again.</li>
</ul>

<h2>The plan for the ordering core</h2>
<ol>
<li><b>One audit, one set of credentials.</b> Gateways keep their database. The core and the workers of a cell get a database of their own, and
learn by the assertion of the gateway who calls. Each cell has a secret of its own for assertions, so that one cell cannot pass for
another: the core now takes its secret from the root of its own database, and would take it from a setting.</li>
<li><b>Workers</b> run for each cell. They ask the global database which rights have changed, which they now read in their own.</li>
<li><b>A new restaurant</b> is written by one transaction in both schemas now. With two databases it is first reserved in the directory, then made
in the cell, then opened; each step can be repeated.</li>
<li><b>The panel</b> reads the tables of restaurants in the process of the gateway. Its pages would ask the core of the cell.</li>
</ol>

<h2>What moves with a restaurant, and what stays global</h2>
<dl>
<dt>Moves</dt><dd>${listed(tablesByPlace.restaurant)}</dd>
<dt>Stays global, with the gateways</dt><dd>${listed(tablesByPlace.global)}</dd>
<dt>Belongs to each cell</dt><dd>${listed(tablesByPlace.cell)}</dd>
</dl>

<h2>A move of a restaurant of the core</h2>
<ol>
<li>The directory marks the restaurant as moving, which it cannot yet. Writes get 503 with <code>Retry-After</code>; reads go on in the old cell.</li>
<li>The workers of the old cell dispatch its waiting events and end its attempts. Deliveries that wait for a retry move with it.</li>
<li>Its rows are copied by their key, in one transaction of the new cell, and compared by number and digest, as <code>move</code> does now for
a whole store.</li>
<li>The directory names the new cell, and gateways follow within a second. The old cell refuses the restaurant from then on.</li>
<li>The rows of the old cell are deleted later. Until then the move can be undone without the writes since.</li>
</ol>
<p>Ids of events and their <code>seq</code> stay as they are, so receivers notice nothing. Two things have no answer yet: positions of the feed of
events are counted by cluster, so its cursors would have to name their cell; and the receipts of <code>Idempotency-Key</code> name a
caller and no restaurant, so those of the last day would be copied for all callers of the restaurant.</p>
</main>
</body>
</html>
`;
