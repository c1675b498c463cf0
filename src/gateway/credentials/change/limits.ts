/**
 * Changes of the limits of a credential and of the networks that it may be used from. Every gateway follows within a second,
 * as after each change of a credential (lookup/cache.ts).
 */
import { type FaultDetail, validationFault } from '#src/contract/fault.ts';
import { readNetworks } from '../../limits/address-list.ts';
import { limitNames, type OwnLimits } from '../../model/own-limits.ts';
import { assertFound, type CredentialsDeps } from '../state/credentials-deps.ts';
import { type Limited, type LimitedKind, lockLimits, updateAllowIp, updateLimits } from '../state/limit-store.ts';
import { change, holderOf, noteChange, only, type Tx } from './change.ts';

/** Null removes a limit; a missing member keeps what it is. */
export type LimitsChange = { readonly [Name in keyof OwnLimits]?: number | null | undefined };

const limitMax = 1_000_000_000_000;

export const limitChanges = (deps: CredentialsDeps) => ({
  /** Returns the limits after the change. VALIDATION_ERROR names every wrong one. */
  setLimits: (kind: LimitedKind, id: string, wanted: LimitsChange, tx?: Tx): Promise<OwnLimits> =>
    change(deps, tx, only(id), (inner) => applyLimits(deps, inner, kind, id, wanted)),

  /** `networks`: addresses and networks in CIDR notation; null: from everywhere. Returns their canonical form. */
  setAllowIp: (
    kind: LimitedKind,
    id: string,
    networks: readonly string[] | null,
    tx?: Tx,
  ): Promise<readonly string[] | null> =>
    change(deps, tx, only(id), (inner) => applyAllowIp(deps, inner, kind, id, networks)),
});

const labels: Readonly<Record<LimitedKind, string>> = { client: 'client', key: 'key' };

const lock = async (tx: Tx, kind: LimitedKind, id: string): Promise<Limited> => {
  const found = await lockLimits(tx, kind, id);
  assertFound(found !== undefined, labels[kind], id);
  return found ?? { limits: null, allowIp: null };
};

export const applyLimits = async (
  deps: CredentialsDeps,
  tx: Tx,
  kind: LimitedKind,
  id: string,
  wanted: LimitsChange,
): Promise<OwnLimits> => {
  assertLimits(wanted);
  const before = await lock(tx, kind, id);
  const limits: OwnLimits = {};
  for (const name of limitNames) {
    const value = wanted[name] === undefined ? before.limits?.[name] : wanted[name];
    if (value !== undefined && value !== null) limits[name] = value;
  }
  await updateLimits(tx, kind, id, Object.keys(limits).length === 0 ? null : limits);
  await noteChange(deps, tx, {
    action: kind === 'client' ? 'client.limits_changed' : 'key.limits_changed',
    ...(await about(tx, kind, id)),
    details: JSON.stringify({ limits, before: before.limits ?? {} }),
  });
  return limits;
};

export const applyAllowIp = async (
  deps: CredentialsDeps,
  tx: Tx,
  kind: LimitedKind,
  id: string,
  given: readonly string[] | null,
): Promise<readonly string[] | null> => {
  const networks = given === null ? null : readNetworks(given);
  const before = await lock(tx, kind, id);
  await updateAllowIp(tx, kind, id, networks);
  await noteChange(deps, tx, {
    action: kind === 'client' ? 'client.addresses_changed' : 'key.addresses_changed',
    ...(await about(tx, kind, id)),
    details: JSON.stringify({ allow_ip: networks, before: before.allowIp }),
  });
  return networks;
};

/** With the tenant of a key, under which all of its changes are found. */
const about = async (tx: Tx, kind: LimitedKind, id: string) =>
  kind === 'client' ? { client_id: id } : { kind: 'api_key', ...(await holderOf(tx, 'api_key', id)) };

const assertLimits = (wanted: LimitsChange): void => {
  const errors: FaultDetail[] = limitNames.flatMap((name) => {
    const value = wanted[name];
    if (value === undefined || value === null) return [];
    if (Number.isInteger(value) && value >= 1 && value <= limitMax) return [];
    return [{ pointer: name, code: 'RANGE', message: `must be a whole number from 1 to ${limitMax}` }];
  });
  if (errors.length > 0) throw validationFault(errors);
};
