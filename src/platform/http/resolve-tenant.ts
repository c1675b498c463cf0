/** The tenant of a request (interface 3.3), from the asserted caller and the parameter that names a tenant alone. */
import type { AssertedCaller } from '#src/contract/assertion.ts';
import { tenantMember } from '#src/contract/event.ts';
import { Fault, validationFault } from '#src/contract/fault.ts';

/** The same answer whether the named tenant exists or not, so callers cannot probe for tenants. */
export const resolveTenant = (caller: AssertedCaller, named: unknown): string => {
  if (named !== undefined && named !== null && named !== '' && typeof named !== 'string') {
    throw validationFault([{ pointer: tenantMember, code: 'TYPE', message: 'must be a string' }]);
  }
  const tenant = typeof named === 'string' && named !== '' ? named : onlyOne(caller);
  if (!caller.tenants.includes(tenant)) {
    throw caller.kind === 'api_key'
      ? new Fault('INVALID_KEY', 'This API key belongs to another restaurant')
      : new Fault('UNAUTHORIZED', 'This restaurant is not granted to the client');
  }
  if (caller.tenants_disabled.includes(tenant))
    throw new Fault('API_DISABLED', 'API access is off for this restaurant');
  return tenant;
};

const onlyOne = (caller: AssertedCaller): string => {
  const [first, ...others] = caller.tenants;
  if (first !== undefined && others.length === 0) return first;
  throw validationFault([
    { pointer: tenantMember, code: 'REQUIRED', message: 'is required: the client has several restaurants' },
  ]);
};
