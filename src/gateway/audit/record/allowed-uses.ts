/** What the audit notes of an allowed request, described once per caller, route and source address. */

import type { AddressOf } from '../../limits/source-address.ts';
import type { AllowedUse } from '../../model/allowed-use.ts';
import type { Principal } from '../../model/principal.ts';
import { neededScopes, type Route } from '../../model/route.ts';
import type { Exchange } from '../../request/exchange.ts';
import type { Presented } from '../../request/read-credential.ts';
import { callerOf, secretOf } from '../event/audited-caller.ts';
import type { Fingerprint } from '../event/fingerprint.ts';
import type { Recorder } from './recorder.ts';

type AllowedUsesDeps = {
  describe: Recorder['describe'];
  fingerprint: Fingerprint;
  addressOf: AddressOf;
};

/** The use of `route` by `principal` from the address of the exchange. */
type AllowedUses = (principal: Principal, route: Route, exchange: Exchange) => AllowedUse;

/** The uses of one caller. Most callers call one route again and again, so the last route needs no lookup. */
type Noted = { route: Route; use: AllowedUse; others: Map<Route, AllowedUse> | undefined };

export const createAllowedUses = ({ describe, fingerprint, addressOf }: AllowedUsesDeps): AllowedUses => {
  const fingerprintOf = createFingerprints(fingerprint);
  const known = new WeakMap<Principal, Noted>();
  return (principal, route, { req, presented }) => {
    const address = addressOf(req) ?? null;
    const noted = known.get(principal);
    if (noted?.route === route && noted.use.group.shared.address === address) return noted.use;
    const before = noted?.others?.get(route);
    if (before?.group.shared.address === address) return before;
    const use = describe({
      ...callerOf(principal),
      fingerprint: fingerprintOf(principal, presented),
      route_id: route.id,
      scopes: neededScopes(route, principal.scopes),
      address,
    });
    if (noted === undefined) known.set(principal, { route, use, others: undefined });
    else if (noted.route === route) noted.use = use;
    else {
      noted.others ??= new Map();
      noted.others.set(route, use);
    }
    return use;
  };
};

/** A caller object lives as long as the cached credential, so each fingerprint is made once. */
const createFingerprints = (fingerprint: Fingerprint) => {
  const made = new WeakMap<Principal, string>();
  return (principal: Principal, presented: Presented | undefined): string | null => {
    const before = made.get(principal);
    if (before !== undefined) return before;
    const value = presented === undefined ? undefined : secretOf(presented);
    if (value === undefined) return null;
    const text = fingerprint(value);
    made.set(principal, text);
    return text;
  };
};
