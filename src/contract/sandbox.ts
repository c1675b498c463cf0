/**
 * Sandboxes (interface 25). The id of a tenant, key, secret or client of a sandbox has a mark: `rst_test_…`, `opk_test_…`. An id never
 * changes, so no stored mark can be lost or altered, and every process knows a sandbox without asking anyone.
 */

/** Follows the prefix of an id. No other id has it: the part after a prefix holds no underscore. */
export const sandboxMark = 'test_';

/** Other prefixes are left out, since an id that an operator brought along may have any form. */
const sandboxId = /^(?:rst|opk|ops|opc)_test_/;

/** Of a tenant, key, secret or client. */
export const isSandboxId = (id: string): boolean => sandboxId.test(id);
