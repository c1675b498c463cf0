/** Keys of a tenant for whoever looks after them: page by page, with how each is used. */
import type { CredentialsDeps } from './credential-change.ts';
import { findKeyRow, type KeyPage, listKeyPage, listOpenTenants } from './key-page-store.ts';
import { isStillUsed, type ShownCredential, showRows } from './show-credentials.ts';

export type ShownKey = ShownCredential & {
  name: string;
  /** Nobody has used it for some minutes. */
  is_quiet: boolean;
};

export type KeyViews = ReturnType<typeof createKeyViews>;

export const createKeyViews = (deps: Pick<CredentialsDeps, 'db' | 'clock'>) => {
  const show = async (rows: Parameters<typeof showRows>[1]): Promise<ShownKey[]> => {
    const nowMs = deps.clock.now().getTime();
    return (await showRows(deps, rows)).map(({ shown, row, use }) => ({
      ...shown,
      name: row.name,
      is_quiet: !isStillUsed(use, nowMs),
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
