/** Traces for an operator. The reading is recorded in the audit before its result is returned. */
import type { SecretBox } from '#src/platform/secret-box.ts';
import { type AuditReaderDeps, noteAuditRead } from '../audit/search/search-audit.ts';
import { type Traced, traceCredential } from './trace-credential.ts';
import { type HashedCredential, type HashedTrace, traceHashed } from './trace-hashed.ts';

type Deps = AuditReaderDeps & { box: Pick<SecretBox, 'derive' | 'digest'> };

/** VALIDATION_ERROR for text that does not have the format of a credential. */
export const readTrace = async (deps: Deps, value: string): Promise<Traced> => {
  const traced = await traceCredential(deps, value);
  await noteTrace(deps, traced, {});
  return traced;
};

/** VALIDATION_ERROR for a malformed hash or id. */
export const readHashedTrace = async (deps: Deps, hashed: HashedCredential): Promise<HashedTrace> => {
  const traced = await traceHashed(deps, hashed);
  await noteTrace(deps, traced, { read: 'trace', kind: traced.kind });
  return traced;
};

const noteTrace = (
  deps: Deps,
  { fingerprint, clientId, id }: Traced,
  details: Readonly<Record<string, string>>,
): Promise<void> => noteAuditRead(deps, details, { fingerprint, client_id: clientId, credential_id: id });
