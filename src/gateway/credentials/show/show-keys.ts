/** Keys of a tenant for whoever looks after them: page by page, with how each is used. */
import type { CredentialsDeps } from '../change/change.ts';
import { findKeyRow, findKeysWithUsedSuccessor, type KeyPage, listKeyPage, listOpenTenants } from './key-page-store.ts';
import { silentSecondsMin } from './retire-advice.ts';
import { isStillUsed, type ShownCredential, showRows } from './show-credentials.ts';

export type ShownKey = ShownCredential & {
  name: string;
  /** Nobody has used it for some minutes. */
  is_quiet: boolean;
  /** A newer key of that name was used, and this one was silent for longer than a day and than ever before. */
  safe_to_retire: boolean;
};

export type KeyViews = ReturnType<typeof createKeyViews>;

export const createKeyViews = (deps: Pick<CredentialsDeps, 'db' | 'clock'>) => {
  const show = async (rows: Parameters<typeof showRows>[1]): Promise<ShownKey[]> => {
    const now = deps.clock.now();
    const shownRows = await showRows(deps, rows);
    // Nothing is issued for a key, so no token outlives its last use.
    const silent = shownRows.filter(
      ({ use }) =>
        use?.lastUsed != null &&
        now.getTime() - use.lastUsed.getTime() > silentSecondsMin(use.longestGapSeconds, 0) * 1000,
    );
    const replaced = await findKeysWithUsedSuccessor(
      deps.db,
      silent.map(({ shown }) => shown.id),
      now,
    );
    return shownRows.map(({ shown, row, use }) => ({
      ...shown,
      name: row.name,
      is_quiet: !isStillUsed(use, now.getTime()),
      safe_to_retire: replaced.has(shown.id),
    }));
  };
  return {
    /** Newest first. A tenant that does not exist has none. */
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
