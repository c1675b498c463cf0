/** The caller as plain header fields, for a service that only the gateway can reach. */
import type { AssertedCaller } from '#src/contract/assertion.ts';
import { listedTenants } from './listed-tenants.ts';

/** A flat list of names and values. Callers are never changed once made, so it is made once for each. */
export const createIdentityFields = () => {
  const made = new WeakMap<AssertedCaller, readonly string[]>();
  return (caller: AssertedCaller): readonly string[] => {
    const known = made.get(caller);
    if (known !== undefined) return known;
    const fields = identityFields(caller);
    made.set(caller, fields);
    return fields;
  };
};

const identityFields = (caller: AssertedCaller): string[] => {
  const { tenants, total } = listedTenants(caller);
  return [
    ...['x-orderpass-kind', caller.kind],
    ...['x-orderpass-id', caller.id],
    ...(caller.kind === 'api_key' ? [] : ['x-orderpass-client', caller.id]),
    ...(tenants === undefined
      ? ['x-orderpass-tenants-total', String(total)]
      : ['x-orderpass-tenants', tenants.join(',')]),
    ...['x-orderpass-scopes', caller.scopes.join(' ')],
  ];
};
