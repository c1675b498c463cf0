/** `{{cell-tables}}` of the page on cells. A test compares the lists with the schema. */

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
  global: ['gateway.*', 'panel.*', 'webhooks.signing_keys', 'webhooks.message_keys', 'platform.facts'],
  cell: [
    'webhooks.workers',
    'platform.weekly_tables',
    'platform.declared_migrations',
    'platform.key_holders',
    'platform.migrations',
  ],
};

const listed = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

export const cellTables = (): string => `| Place | Tables |
| --- | --- |
| Moves | ${listed(tablesByPlace.restaurant)} |
| Stays global, with the gateways | ${listed(tablesByPlace.global)} |
| Belongs to each cell | ${listed(tablesByPlace.cell)} |
`;
