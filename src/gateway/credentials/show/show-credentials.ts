/** Shows credentials to operators: state with reason, actor and time, and their use. */
import { Fault } from '#src/contract/fault.ts';
import { minuteMs } from '#src/platform/clock.ts';
import type { OwnLimits } from '../../model/own-limits.ts';
import { tenantExists } from '../lookup/credential-store.ts';
import { findUses, type Use } from '../lookup/use-store.ts';
import { assertFound, type CredentialsDeps } from '../state/credentials-deps.ts';
import { findCallerLimits } from '../state/limit-store.ts';
import { findLastChanges, type StateChange } from '../state/state-store.ts';
import { type ListedTrust, listTrusts } from '../trust/trust-store.ts';
import { findAddedBy } from './added-by-store.ts';
import * as lists from './list-store.ts';
import { type Advised, adviseRetirement, type RetireAdvice } from './retire-advice.ts';
import { longestTokenSeconds } from './token-end-store.ts';

export type CredentialState = 'active' | 'quarantined' | 'revoked' | 'expired';

export type ShownCredential = {
  id: string;
  state: CredentialState;
  /** Reason of the change that made its present state; null when the state never changed. */
  reason: string | null;
  actor: string | null;
  changed: Date | null;
  created: Date;
  expires: Date | null;
  calls5m: number;
  lastUsed: Date | null;
  lastAddress: string | null;
  /** Longest time between two uses; 0 before the second use. */
  longestGapSeconds: number;
  /** Its value was reported as leaked (interface 29). */
  leaked: boolean;
};

export type ShownSecret = ShownCredential & {
  safeToRetire: boolean;
  /** Reason for `safeToRetire`; null for a secret that has ended. */
  advice: RetireAdvice | null;
};

/** `allowIp` null: it may be used from everywhere. */
type ListedKey = ShownCredential & { name: string; limits: OwnLimits; allowIp: readonly string[] | null };

export type ShownClient = {
  clientId: string;
  name: string;
  /** A client has no expiry. */
  state: Exclude<CredentialState, 'expired'>;
  reason: string | null;
  actor: string | null;
  changed: Date | null;
  created: Date;
  tenants: string[];
  /** null: all. */
  scopes: string[] | null;
  mayUseTokens: boolean;
  mayIntrospect: boolean;
  /** Whether its tokens must be bound to a key (RFC 9449). */
  dpop: 'optional' | 'required';
  /** Whether they must be bound to a certificate (RFC 8705). */
  certificateBinding: 'optional' | 'required';
  /** By which certificates of an authority are those of the client: `subject:CN=till-1`, `dns:till-1.example`, … */
  certificateName: string | null;
  /** Security profile that it was switched to; `standard`: that of the gateway. */
  profile: 'standard' | 'fapi2';
  tokensNotBefore: Date | null;
  /** Its own; a missing one is the default, or no limit. */
  limits: OwnLimits;
  /** null: it may be used from everywhere. */
  allowIp: readonly string[] | null;
};

/** A credential without a use in this time counts as quiet. Calls are counted by the minute and written every 15 s. */
const quietMs = 5 * minuteMs;

export const isStillUsed = (use: Use | undefined, nowMs: number): boolean =>
  use?.lastUsed != null && nowMs - use.lastUsed.getTime() < quietMs;

const stateOf = (row: lists.ShownRow, nowMs: number): CredentialState => {
  if (row.revoked) return 'revoked';
  if (row.expires !== null && row.expires.getTime() <= nowMs) return 'expired';
  return row.quarantinedReason === null ? 'active' : 'quarantined';
};

/** The changes that can have made each state: a quarantine that a rotation followed is still the reason why it is refused. */
const madeBy: Readonly<Record<CredentialState, readonly StateChange['state'][]>> = {
  active: ['active', 'expiring'],
  quarantined: ['quarantined'],
  revoked: ['revoked'],
  expired: ['expiring'],
};

const changeOf = (changes: readonly StateChange[] | undefined, state: CredentialState) => {
  const last = changes?.find((change) => madeBy[state].includes(change.state));
  return { reason: last?.reason ?? null, actor: last?.actor ?? null, changed: last?.at ?? null };
};

/** `idOf`: the name under which changes and uses of a row are stored. */
export const showRows = async (
  deps: Pick<CredentialsDeps, 'db' | 'clock'>,
  rows: readonly lists.ShownRow[],
  idOf = (row: lists.ShownRow): string => row.id,
): Promise<{ shown: ShownCredential; row: lists.ShownRow; use: Use | undefined }[]> => {
  const ids = rows.map(idOf);
  const now = deps.clock.now();
  const [uses, changes] = [await findUses(deps.db, ids, now), await findLastChanges(deps.db, ids)];
  return rows.map((row) => {
    const use = uses.get(idOf(row));
    const state = stateOf(row, now.getTime());
    const shown = {
      ...{ id: row.id, state },
      ...changeOf(changes.get(idOf(row)), state),
      created: row.created,
      expires: row.expires,
      calls5m: use?.calls5m ?? 0,
      lastUsed: use?.lastUsed ?? null,
      lastAddress: use?.lastAddress ?? null,
      longestGapSeconds: use?.longestGapSeconds ?? 0,
      leaked: row.leaked ?? false,
    };
    return { shown, row, use };
  });
};

/** Name of a client key in history and use. It contains the client, because two clients may use one key id. */
export const clientKeyName = (clientId: string, keyId: string): string => `${clientId}/${keyId}`;

/** True for credentials that are accepted, or can be reactivated. */
const isLive = ({ state }: ShownCredential): boolean => state === 'active' || state === 'quarantined';

const advisedOf = ({ created, lastUsed, longestGapSeconds }: ShownCredential): Advised => ({
  createdMs: created.getTime(),
  lastUsedMs: lastUsed?.getTime() ?? null,
  longestGapSeconds,
});

const showSecrets = async (deps: CredentialsDeps, clientId: string) => {
  const at = { nowMs: deps.clock.now().getTime(), tokenSecondsMax: await longestTokenSeconds(deps.db) };
  const secrets = await showRows(deps, await lists.listSecrets(deps.db, clientId));
  const keys = await showRows(deps, await lists.listClientKeys(deps.db, clientId), (row) =>
    clientKeyName(clientId, row.id),
  );
  const certificates = await showRows(deps, await lists.listCertificates(deps.db, clientId), (row) =>
    clientKeyName(clientId, row.id),
  );
  const trusted = await listTrusts(deps.db, clientId);
  const trusts = await showRows(deps, trusted.map(trustRow));
  const live = [...secrets, ...keys, ...certificates, ...trusts].map(({ shown }) => shown).filter(isLive);
  const adviceOn = (secret: ShownCredential): RetireAdvice | null => {
    if (!isLive(secret)) return null;
    const others = live
      .filter((other) => other !== secret)
      .map((other) => ({ ...advisedOf(other), isUsable: other.state === 'active' }));
    return adviseRetirement(advisedOf(secret), others, at);
  };
  return {
    secrets: secrets.map(({ shown }): ShownSecret => {
      const advice = adviceOn(shown);
      return { ...shown, safeToRetire: advice === 'safe', advice };
    }),
    keys: keys.map(({ shown, row }) => ({ ...shown, type: row.name })),
    certificates: certificates.map(({ shown, row }) => ({ ...shown, subject: row.name })),
    trusts: trusts.map(({ shown }, index) => ({ ...shown, ...trustFacts(trusted[index]) })),
  };
};

const trustRow = ({ trustId, created, removed }: ListedTrust): lists.ShownRow => ({
  ...{ id: trustId, name: '', created, expires: null, revoked: removed, quarantinedReason: null },
});

const trustFacts = (trust: ListedTrust | undefined) => ({
  issuer: trust?.issuer ?? '',
  subject: trust?.subject ?? '',
  audience: trust?.audience ?? '',
  jwksUri: trust?.jwksUri ?? null,
  reusable: trust?.reusable ?? false,
});

const showClients = async (deps: CredentialsDeps, rows: readonly lists.ShownClientRow[]): Promise<ShownClient[]> => {
  const changes = await findLastChanges(
    deps.db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => showClient(row, changes.get(row.id)));
};

const showClient = (row: lists.ShownClientRow, changes: readonly StateChange[] | undefined): ShownClient => {
  const state = row.revoked ? 'revoked' : row.quarantinedReason === null ? 'active' : 'quarantined';
  return {
    ...{ clientId: row.id, name: row.name, state },
    ...changeOf(changes, state),
    created: row.created,
    tenants: row.tenants,
    scopes: row.scopes,
    mayUseTokens: row.mayUseTokens,
    mayIntrospect: row.mayIntrospect,
    dpop: row.dpopRequired ? 'required' : 'optional',
    certificateBinding: row.certificateRequired ? 'required' : 'optional',
    certificateName: row.certificateName,
    profile: row.fapi2Required ? 'fapi2' : 'standard',
    tokensNotBefore: row.tokensNotBefore,
    limits: row.limits ?? {},
    allowIp: row.allowIp,
  };
};

export const credentialViews = (deps: CredentialsDeps) => ({
  /** Oldest first; `after`: the id of the last client before. */
  listClients: async (page: { after: string | undefined; limit: number }): Promise<ShownClient[]> =>
    showClients(deps, await lists.listClients(deps.db, page)),

  /** With secrets, keys and their use. NOT_FOUND. */
  showClient: async (clientId: string) => {
    const [client] = await showClients(deps, await lists.listClients(deps.db, { clientId }));
    if (client === undefined) throw new Fault('NOT_FOUND', `There is no client ${clientId}`);
    return { ...client, ...(await showSecrets(deps, clientId)) };
  },

  /** Live public keys and certificates that `actor` added, as far back as the audit goes: their private keys are with the actor. */
  showAddedBy: async (clientId: string, actor: string): Promise<{ keys: string[]; certificates: string[] }> => {
    const added = await findAddedBy(deps.db, clientId, actor);
    const { keys, certificates } = await showSecrets(deps, clientId);
    const idsOf = (listed: readonly ShownCredential[]): string[] =>
      listed.filter((one) => isLive(one) && added.has(clientKeyName(clientId, one.id))).map(({ id }) => id);
    return { keys: idsOf(keys), certificates: idsOf(certificates) };
  },

  showSecrets: async (clientId: string): Promise<ShownSecret[]> => (await showSecrets(deps, clientId)).secrets,

  /** NOT_FOUND for an unknown tenant, so that it does not look like a tenant without keys. */
  listApiKeys: async (tenant: string): Promise<ListedKey[]> => {
    const rows = await showRows(deps, await lists.listApiKeys(deps.db, tenant));
    if (rows.length === 0) assertFound(await tenantExists(deps.db, tenant), 'tenant', tenant);
    const bounds = await findCallerLimits(
      deps.db,
      rows.map(({ row }) => row.id),
    );
    const byId = new Map(bounds.map((one) => [one.id, one]));
    return rows.map(({ shown, row }) => {
      const { limits, allowIp } = byId.get(row.id) ?? { limits: null, allowIp: null };
      return { ...shown, name: row.name, limits: limits ?? {}, allowIp };
    });
  },
});
