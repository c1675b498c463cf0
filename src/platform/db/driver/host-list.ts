/**
 * Several hosts in one address, in the form of libpq:
 * `postgresql://user@host1:5432,host2:5433/database?target_session_attrs=read-write`.
 * pg knows one host for each connection, so the address is split into one address for each host.
 */

/** `read-write`: transactions can write. `primary`: it is no standby. */
export type WantedServer = 'read-write' | 'primary';

export type HostList = {
  /** In the order in which they are tried. */
  addresses: readonly [string, ...string[]];
  /** What a new connection asks of its server; undefined: nothing. */
  wanted: WantedServer | undefined;
};

/** The Unix socket of the embedded server, whose connection is no address. */
export const oneSocket: HostList = { addresses: [''], wanted: undefined };

/** The list in the address is wrong. The message can follow the name of the setting, and holds no password. */
export class HostListError extends Error {
  override readonly name = 'HostListError';
}

const form = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)([^?#]*)(?:\?([^#]*))?$/;
const attribute = 'target_session_attrs=';

/** Throws HostListError. An address with one host and without the attribute stays as it is, and its server is not asked. */
export const hostListOf = (address: string): HostList => {
  const [, start = '', names = '', path = '', query = ''] = form.exec(address) ?? [];
  const hosts = names.split(',');
  const [first = '', ...others] = hosts;
  const parameters = query.split('&');
  const isList = others.length > 0;
  if (isList && hosts.some((host) => host === '' || host.startsWith(':')))
    throw new HostListError('has a comma without a host beside it');
  if (parameters.some((text) => /^(?:host|port)=/.test(text) && (isList || /,|%2c/i.test(text))))
    throw new HostListError(
      'has hosts in a parameter beside or in a list; write them as HOST1:PORT,HOST2:PORT before the database',
    );
  const asked = parameters.filter((text) => text.startsWith(attribute)).map((text) => text.slice(attribute.length));
  for (const value of asked) assertWanted(value);
  // Every process writes, so a list without the attribute cannot mean any server, as it does for libpq.
  const wanted = (asked.at(-1) as WantedServer | undefined) ?? (isList ? 'read-write' : undefined);
  if (wanted === undefined) return { addresses: [address], wanted };
  const rest = parameters.filter((text) => text !== '' && !text.startsWith(attribute)).join('&');
  const addressOf = (host: string): string => `${start}${host}${path}${rest === '' ? '' : `?${rest}`}`;
  return { addresses: [addressOf(first), ...others.map(addressOf)], wanted };
};

const assertWanted = (value: string): void => {
  if (value !== 'read-write' && value !== 'primary')
    throw new HostListError('has another target_session_attrs than read-write and primary, but every process writes');
};
