/** The parts that the functions of the command line share. */

import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { createCredentials } from '#src/gateway/index.ts';
import { findRestaurant } from '#src/ordering/index.ts';
import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';
import type { WebhookAdmin } from '../webhooks/webhook-admin.ts';

/** What each part of the admin works with. */
export type AdminDeps = {
  installation: Installation;
  settings: Settings;
  /** The name in the audit. */
  actor: string;
  credentials: ReturnType<typeof createCredentials>;
  webhooks: WebhookAdmin;
};

/** Throws NOT_FOUND for an unknown restaurant. */
export const assertRestaurant = async (db: Kysely<unknown>, restuid: string): Promise<void> => {
  if ((await findRestaurant(db, restuid)) === undefined)
    throw new Fault('NOT_FOUND', `There is no restaurant ${restuid}`);
};
