/** Pure: a credential is for sandboxes or for real tenants, never for both (interface 25.1). */
import { Fault } from '#src/contract/fault.ts';
import { isSandboxId } from '#src/contract/sandbox.ts';

/** The kind of a client with these tenants; without any it is a real one. VALIDATION_ERROR when they are of both kinds. */
export const isForSandboxes = (tenants: readonly string[]): boolean => {
  const sandbox = tenants.find(isSandboxId);
  const real = tenants.find((tenant) => !isSandboxId(tenant));
  if (sandbox !== undefined && real !== undefined)
    throw new Fault(
      'VALIDATION_ERROR',
      `${sandbox} is a sandbox and ${real} is not: one client cannot have both. Create a client for each`,
    );
  return sandbox !== undefined;
};

/** VALIDATION_ERROR when the client is not for tenants of this kind. */
export const assertOneKind = (clientId: string, tenant: string): void => {
  if (isSandboxId(clientId) === isSandboxId(tenant)) return;
  throw new Fault(
    'VALIDATION_ERROR',
    isSandboxId(tenant)
      ? `${tenant} is a sandbox, and ${clientId} is a client for real tenants. Create a client for sandboxes`
      : `${tenant} is no sandbox, and ${clientId} is a client for sandboxes only. Create another client for it`,
  );
};
