/** Interface 6.2, step 4: the version of the interface that the caller was written for. */

import { unsupportedVersion } from '../model/faults.ts';
import type { Step } from '../request/exchange.ts';

const supported = /^1(\.\d{1,9}){0,2}$/;

export const createCheckVersion = (): Step => {
  return ({ req }) => {
    const version = req.headers['x-api-version'];
    if (version === undefined || version === '') return;
    if (typeof version !== 'string' || !supported.test(version)) throw unsupportedVersion();
  };
};
