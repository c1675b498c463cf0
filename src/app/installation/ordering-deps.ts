/** What every core of this program is opened with. */
import type { Settings } from '../settings/config.ts';
import type { LiveSecrets } from '../settings/live-secrets.ts';
import type { Installation } from './installation.ts';

export const orderingDeps = (
  settings: Settings,
  { store, box, clock, log }: Installation,
  secrets: Pick<LiveSecrets, 'read'>,
) => ({
  db: store.db,
  cursorKey: box.derive('cursor'),
  orderTokenKey: box.derive('order-token'),
  clock,
  log,
  settings: settings.ordering,
  readResolverUrl: () => secrets.read('ordering.address_resolver_url'),
});
