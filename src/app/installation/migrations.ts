/** Every feature's migrations, in the order in which they may rely on each other: platform first. */
import { gatewayMigrations } from '#src/gateway/index.ts';
import { orderingMigrations } from '#src/ordering/index.ts';
import { platformMigrations } from '#src/platform/db/index.ts';
import type { Migration } from '#src/platform/db/schema/pending.ts';
import { staffMigrations } from '#src/staff/index.ts';
import { webhooksMigrations } from '#src/webhooks/index.ts';

export const allMigrations: readonly Migration[] = [
  ...platformMigrations,
  ...gatewayMigrations,
  ...orderingMigrations,
  ...webhooksMigrations,
  ...staffMigrations,
];
