/** The address of a database, `postgresql://…`, of one host or several: whether pg can read it, its TLS mode, and why a connection failed. */
import pg from 'pg';
import { HostListError, hostListOf } from './driver/host-list.ts';
import { NoHostError } from './driver/hosts.ts';
import { withStrictTls } from './driver/strict-tls.ts';
import { isAway } from './transaction.ts';

/** Why the address cannot be read, without the address itself, which holds a password; undefined when it can. */
export const addressProblem = (address: string): string | undefined => {
  try {
    for (const one of hostListOf(address).addresses) new pg.Client({ connectionString: withStrictTls(one) });
    return undefined;
  } catch (error) {
    if (error instanceof HostListError) return error.message;
    if (error instanceof Error && 'syscall' in error) return error.message;
    return 'is not an address; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, special characters percent-encoded';
  }
};

/** The remedy for a `DATABASE_URL` that leads to a pooler in transaction mode. */
export const sessionsMissing =
  'it leads to a pooler in transaction mode: set DATABASE_DIRECT_URL to the address of the server itself, and no parameters of the session in DATABASE_URL';

const untrusted = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** Parameters that pg sends at the start of a connection, and that PgBouncer refuses, or drops by `ignore_startup_parameters`. */
export const hasSessionParameters = (address: string): boolean =>
  /[?&](?:options|(?:statement|lock|idle_in_transaction_session)_timeout)=/.test(address);

/** A pooler refuses a parameter of the start of a connection, such as `statement_timeout`. It always will. */
export const isParameterRefused = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('unsupported startup parameter');

/** SQLSTATEs of a server that refuses the user or the database. */
const refused = new Set(['28000', '28P01', '3D000', '42501']);

/** Why the connection failed, in one line without secrets and with a remedy; undefined for other errors. */
export const connectionProblem = (error: unknown): string | undefined => {
  if (error instanceof NoHostError) {
    const remedies = new Set(error.errors.map(tlsRemedy).filter((remedy) => remedy !== undefined));
    return [error.message, ...remedies].join(': ');
  }
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (!(first instanceof Error)) return undefined;
  const code = String(Reflect.get(first, 'code'));
  const line = first.message.split('\n', 1)[0] ?? '';
  const remedy = tlsRemedy(first);
  if (remedy !== undefined) return `${line}: ${remedy}`;
  if (isParameterRefused(first)) return `${line}: ${sessionsMissing}`;
  return refused.has(code) || (isAway(first) && !code.startsWith('53')) ? line : undefined;
};

const tlsRemedy = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined;
  if (untrusted.has(String(Reflect.get(error, 'code'))))
    return 'add sslrootcert=FILE with the certificate of its authority, or sslmode=no-verify to encrypt without knowing to whom';
  return /does not support SSL/.test(error.message) ? 'set sslmode=disable, or turn TLS on there' : undefined;
};

/**
 * For messages and files. A password in the address stands between the user and `@`, or is a parameter. Both it and the user may have
 * an `@` that is not encoded, since the last one before the host counts.
 */
export const withoutPassword = (address: string): string =>
  address.replace(/^(postgres(?:ql)?:\/\/[^:/?#]*):[^/?#]*@/, '$1@').replace(/([?&]password=)[^&]*/gi, '$1…');
