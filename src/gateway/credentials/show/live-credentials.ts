/** Lists the live credentials of all tenants and clients, in pages. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { findUses } from '../lookup/use-store.ts';
import * as store from './live-credential-store.ts';
import type { CredentialState } from './show-credentials.ts';
import { clientKeyName } from './show-credentials.ts';

const liveKinds = ['api_key', 'client_secret', 'client_key', 'client_certificate'] as const;
export type LiveKind = (typeof liveKinds)[number];

export type LiveCredential = {
  kind: LiveKind;
  id: string;
  /** Name of a key; type of a client key; subject of a certificate. */
  name: string;
  /** Tenant of a key; client of any other. */
  holder: string;
  holderName: string;
  state: CredentialState;
  created: Date;
  expires: Date | null;
  lastUsed: Date | null;
  lastAddress: string | null;
};

type Deps = { db: Kysely<unknown>; clock: Clock };

/**
 * Newest first; certificates by client. Quarantined credentials are included, because they can be reactivated. VALIDATION_ERROR: bad cursor.
 */
export const listLiveCredentials = async (
  { db, clock }: Deps,
  { kind, before, limit }: { kind: LiveKind; before?: string | undefined; limit: number },
): Promise<{ credentials: LiveCredential[]; next: string | undefined }> => {
  const now = clock.now();
  const place = before === undefined ? undefined : readPlace(before);
  const asked = { before: place, now, limit: limit + 1 };
  const rows = await lists[kind](db, asked);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    credentials: await show(db, kind, page, now),
    next: rows.length > limit && last !== undefined ? writePlace(last) : undefined,
  };
};

const lists = {
  api_key: store.listLiveKeys,
  client_secret: store.listLiveSecrets,
  client_key: store.listLiveClientKeys,
  client_certificate: store.listLiveCertificates,
};

const finders = {
  api_key: store.findKeyRow,
  client_secret: store.findSecretRow,
  client_certificate: (db: Kysely<unknown>, id: string) => store.findCertificateRow(db, id.slice(id.indexOf('/') + 1)),
};

/** A key, a secret or a certificate (`client/thumbprint`), live or ended. Undefined: none has that id. */
export const findCredential = async (
  { db, clock }: Deps,
  kind: 'api_key' | 'client_secret' | 'client_certificate',
  id: string,
): Promise<LiveCredential | undefined> => {
  const row = await finders[kind](db, id);
  return row && (await show(db, kind, [row], clock.now()))[0];
};

const show = async (
  db: Kysely<unknown>,
  kind: LiveKind,
  rows: readonly store.CredentialRow[],
  now: Date,
): Promise<LiveCredential[]> => {
  const nameOf = ({ id, holder }: store.CredentialRow): string =>
    kind === 'client_key' || kind === 'client_certificate' ? clientKeyName(holder, id) : id;
  const uses = await findUses(db, rows.map(nameOf), now);
  return rows.map((row) => {
    const use = uses.get(nameOf(row));
    return {
      kind,
      id: row.id,
      name: row.name,
      holder: row.holder,
      holderName: row.holderName,
      state: stateOf(row, now.getTime()),
      created: row.created,
      expires: row.expires,
      lastUsed: use?.lastUsed ?? null,
      lastAddress: use?.lastAddress ?? null,
    };
  });
};

const stateOf = (row: store.CredentialRow, nowMs: number): CredentialState => {
  if (row.ended) return 'revoked';
  if (row.expires !== null && row.expires.getTime() <= nowMs) return 'expired';
  return row.quarantinedReason === null ? 'active' : 'quarantined';
};

const writePlace = ({ created, holder, id }: store.CredentialRow): string =>
  Buffer.from(JSON.stringify([created.getTime(), holder, id])).toString('base64url');

const readPlace = (cursor: string): store.CredentialPlace => {
  try {
    const [ms, holder, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[];
    const created = new Date(Number(ms));
    if (typeof holder === 'string' && typeof id === 'string' && !Number.isNaN(created.getTime()))
      return { created, holder, id };
  } catch {
    // A malformed cursor is refused below.
  }
  throw new Fault('VALIDATION_ERROR', 'No page gave this cursor');
};
