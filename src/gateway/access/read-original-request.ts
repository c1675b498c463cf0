/**
 * Pure: reads which request another proxy asks about at /auth/check. The headers are claims, so everything ambiguous is
 * refused: a header sent twice, headers of two kinds of proxies at once, a target that is no path.
 */
type OriginalRequest = { method: string; target: string; host: string | undefined };

/** `undefined`: no request was named, or more than one. */
type ReadOriginalRequest = (check: {
  method: string;
  target: string;
  path: string;
  search: string;
  rawHeaders: readonly string[];
}) => OriginalRequest | undefined;

/** nginx (as configured in config/nginx-auth-request.conf) and Traefik ForwardAuth. */
const pairs: readonly (readonly [method: string, target: string])[] = [
  ['x-original-method', 'x-original-uri'],
  ['x-forwarded-method', 'x-forwarded-uri'],
];

export const authCheckPath = '/auth/check';

export const createReadOriginalRequest = ({ urlBytesMax }: { urlBytesMax: number }): ReadOriginalRequest => {
  const checked = (method: string, target: string, hosts: readonly string[]): OriginalRequest | undefined =>
    /^[A-Z]{1,20}$/.test(method) &&
    /^\/[\x21\x22\x24-\x7e]*$/.test(target) &&
    target.length <= urlBytesMax &&
    hosts.length <= 1
      ? { method, target, host: hosts[0] }
      : undefined;
  return ({ method, target: asked, path, search, rawHeaders }) => {
    const said = pairs.map(([first, second]) => [valuesOf(rawHeaders, first), valuesOf(rawHeaders, second)] as const);
    // Where the other proxy names no host, it is that of the check, as Envoy and nginx pass it on.
    const named = valuesOf(rawHeaders, 'x-forwarded-host');
    const hosts = named.length > 0 ? named : valuesOf(rawHeaders, 'host');
    const used = said.filter(([methods, targets]) => methods.length > 0 || targets.length > 0);
    if (path !== authCheckPath) {
      // Envoy puts its prefix before the path and keeps the method.
      return used.length > 0 ? undefined : checked(method, asked.slice(authCheckPath.length), hosts);
    }
    const [methods, targets] = used[0] ?? [[], []];
    if (used.length !== 1 || methods.length !== 1 || targets.length !== 1 || search !== '' || asked !== path)
      return undefined;
    return checked(methods[0] ?? '', targets[0] ?? '', hosts);
  };
};

const valuesOf = (rawHeaders: readonly string[], name: string): string[] => {
  const values: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.length === name.length && rawHeaders[i]?.toLowerCase() === name)
      values.push(rawHeaders[i + 1] ?? '');
  }
  return values;
};
