/**
 * pg checks certificate and name for `prefer`, `require` and `verify-ca` as for `verify-full`, and prints a warning of seven
 * lines about it. Here the address asks for `verify-full` itself. `uselibpqcompat=true` selects the weaker meaning of libpq.
 */
export const withStrictTls = (address: string): string =>
  /[?&]uselibpqcompat=true(?:&|$)/.test(address)
    ? address
    : address.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
