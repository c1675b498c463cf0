/** What an id is, by its prefix (platform/ids.ts, gateway/model/credential-values.ts). */
import type { LocatedKind } from '../ports/overview.ts';

export type IdKind = LocatedKind | 'client' | 'secret' | 'request' | 'user';

const kinds: ReadonlyMap<string, IdKind> = new Map(
  Object.entries({
    ord: 'order',
    cus: 'customer',
    whe: 'endpoint',
    dlv: 'delivery',
    evt: 'event',
    opk: 'key',
    opc: 'client',
    ops: 'secret',
    req: 'request',
    usr: 'user',
  }),
);

const isId = (text: string): boolean => /^[A-Za-z0-9._-]{1,128}$/.test(text);

/** Undefined for a text without a known prefix: it may be a name, or the id of a restaurant, which may have any form. */
export const kindOfId = (text: string): IdKind | undefined =>
  isId(text) ? kinds.get(text.slice(0, Math.max(0, text.indexOf('_')))) : undefined;

export const mayBeRestaurant = isId;
