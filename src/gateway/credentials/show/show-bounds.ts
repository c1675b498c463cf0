/** The limits of one credential and the networks that it may be used from. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { OwnLimits } from '../../model/own-limits.ts';
import { findCallerLimits, type LimitedKind } from '../state/limit-store.ts';

/** `allowIp` null: it may be used from everywhere. NOT_FOUND: there is no such client or key. */
export const readBounds = async (
  db: Kysely<unknown>,
  kind: LimitedKind,
  id: string,
): Promise<{ limits: OwnLimits; allowIp: readonly string[] | null }> => {
  const [found] = await findCallerLimits(db, [id]);
  if (found?.kind !== kind) throw new Fault('NOT_FOUND', `There is no ${kind} ${id}`);
  return { limits: found.limits ?? {}, allowIp: found.allowIp };
};
