/** Pages of the keys of a tenant, with their use. */
import { Fault } from '#src/contract/fault.ts';
import { type Page, pageOf, readPlace, writePlace } from '#src/platform/db/age-pages.ts';
import type { CredentialsDeps } from '../state/credentials-deps.ts';
import { findKeyRow, findKeysWithUsedSuccessor, listKeyPage } from './key-page-store.ts';
import { silentSecondsMin } from './retire-advice.ts';
import { isStillUsed, type ShownCredential, showRows } from './show-credentials.ts';

type ShownKey = ShownCredential & {
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
    /** Newest first. `ended`: the revoked and expired keys instead of the live ones. Empty for an unknown tenant. */
    list: async (
      tenant: string,
      { ended, after, limit }: { ended: boolean; after: string | undefined; limit: number },
    ): Promise<Page<ShownKey>> => {
      const asked = { tenant, ended, after: readPlace(after), limit: limit + 1, now: deps.clock.now() };
      return pageOf(await show(await listKeyPage(deps.db, asked)), limit, writePlace);
    },
    /** Undefined: the tenant has no such key. */
    find: async (tenant: string, keyId: string): Promise<ShownKey | undefined> => {
      const row = await findKeyRow(deps.db, tenant, keyId);
      return row && (await show([row]))[0];
    },
    /**
     * NOT_FOUND when the tenant has no such key. The owner of a key never changes, so the check stays true for a change
     * that follows.
     */
    require: async (tenant: string, keyId: string): Promise<void> => {
      if ((await findKeyRow(deps.db, tenant, keyId)) === undefined)
        throw new Fault('NOT_FOUND', 'There is no such key');
    },
  };
};
