/** Settings of the engine in tests. `WEBHOOKS_FAST_PATH=off` runs the suite without the fast path. */

import { type WebhooksSettings, webhooksSettings } from '#src/webhooks/config.ts';
import type { OwnerRights } from '#src/webhooks/index.ts';

export const isFastPathOff = process.env.WEBHOOKS_FAST_PATH === 'off';

/** Every owner may read everything. */
export const allRights: OwnerRights = {
  kinds: [],
  changesSince: async (version) => ({ version: '', changed: version === undefined ? 'all' : [] }),
  kindsOf: async (owners) => owners.map(() => undefined),
};

export const testSettings = (changed: Partial<WebhooksSettings> = {}): WebhooksSettings =>
  webhooksSettings.parse({ ...(isFastPathOff ? { fast_path: 'off' } : undefined), ...changed });
