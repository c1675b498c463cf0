/** Pages of clients and of their grants, with cursors. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { type ListedClientRow, pageClientRows, pageGrantRows } from './client-page-store.ts';
import type { CredentialState } from './show-credentials.ts';

export type ListedClient = {
  clientId: string;
  name: string;
  state: Exclude<CredentialState, 'expired'>;
  created: Date;
  /** null: all. */
  scopes: string[] | null;
  tenantsCount: number;
  lastUsed: Date | null;
};

export type ClientSearch = {
  /** A client id, the id of one of its secrets, or beginnings of words of the name; empty: all. */
  search?: string | undefined;
  tenant?: string | undefined;
  /** Leaves out disabled clients. */
  live?: boolean | undefined;
  cursor?: string | undefined;
  limit: number;
};

/** Newest first. VALIDATION_ERROR for a malformed cursor. */
export const pageClients = async (
  db: Kysely<unknown>,
  { search = '', tenant, live, cursor, limit }: ClientSearch,
): Promise<{ clients: ListedClient[]; next: string | null }> => {
  const before = cursor === undefined ? undefined : readPlace(cursor);
  const rows = await pageClientRows(db, { search: search.trim(), tenant, live }, before, limit + 1);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    clients: page.map(shown),
    next: rows.length > limit && last !== undefined ? `${last.created.getTime()}-${last.id}` : null,
  };
};

/** Tenants that are granted to a client, sorted by id, after `after`. */
export const pageGrants = async (
  db: Kysely<unknown>,
  clientId: string,
  { after = '', limit }: { after?: string | undefined; limit: number },
): Promise<{ tenants: string[]; next: string | null }> => {
  const found = await pageGrantRows(db, clientId, after, limit + 1);
  const tenants = found.slice(0, limit);
  return { tenants, next: found.length > limit ? (tenants.at(-1) ?? null) : null };
};

const shown = (row: ListedClientRow): ListedClient => ({
  clientId: row.id,
  name: row.name,
  state: row.disabled ? 'revoked' : row.quarantined ? 'quarantined' : 'active',
  created: row.created,
  scopes: row.scopes,
  tenantsCount: row.tenants,
  lastUsed: row.lastUsed,
});

const readPlace = (cursor: string): { created: Date; id: string } => {
  const [, ms, id] = /^(\d{1,15})-(\w{1,64})$/.exec(cursor) ?? [];
  const created = new Date(Number(ms));
  if (id === undefined || Number.isNaN(created.getTime()))
    throw new Fault('VALIDATION_ERROR', 'No page gave this cursor');
  return { created, id };
};
