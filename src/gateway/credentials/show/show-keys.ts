/** Pages of the keys of a tenant, with their use. */
import type { CredentialsDeps } from '../state/credentials-deps.ts';
import { findKeyRow, findKeysWithUsedSuccessor, type KeyPage, listKeyPage, listOpenTenants } from './key-page-store.ts';
import { silentSecondsMin } from './retire-advice.ts';
import { isStillUsed, type ShownCredential, showRows } from './show-credentials.ts';

export type ShownKey = ShownCredential & {
  name: string;
  /** It was not used for five minutes. */
  isQuiet: boolean;
  /** A newer key of that name was used, and this one was unused for longer than a day and than ever before. */
  safeToRetire: boolean;
};

export const createKeyViews = (deps: Pick<CredentialsDeps, 'db' | 'clock'>) => {
  const show = async (rows: Parameters<typeof showRows>[1]): Promise<ShownKey[]> => {
    const now = deps.clock.now();
    const shownRows = await showRows(deps, rows);
    // No tokens are issued for API keys, so no token outlives the last use.
    const unused = shownRows.filter(
      ({ use }) =>
        use?.lastUsed != null &&
        now.getTime() - use.lastUsed.getTime() > silentSecondsMin(use.longestGapSeconds, 0) * 1000,
    );
    const replaced = await findKeysWithUsedSuccessor(
      deps.db,
      unused.map(({ shown }) => shown.id),
      now,
    );
    return shownRows.map(({ shown, row, use }) => ({
      ...shown,
      name: row.name,
      isQuiet: !isStillUsed(use, now.getTime()),
      safeToRetire: replaced.has(shown.id),
    }));
  };
  return {
    /** Newest first. Empty for an unknown tenant. */
    listPage: async (page: Omit<KeyPage, 'now'>): Promise<ShownKey[]> =>
      show(await listKeyPage(deps.db, { ...page, now: deps.clock.now() })),
    /** Undefined: the tenant has no such key. */
    find: async (tenant: string, keyId: string): Promise<ShownKey | undefined> => {
      const row = await findKeyRow(deps.db, tenant, keyId);
      return row && (await show([row]))[0];
    },
    listOpenTenants: (tenants: readonly string[]): Promise<string[]> => listOpenTenants(deps.db, tenants),
  };
};
