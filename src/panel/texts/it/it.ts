/** Italiano. Un file per area in `it/`. */

import type { Texts } from '../en/en.ts';
import { account } from './account.ts';
import { customers } from './customers.ts';
import { frame } from './frame.ts';
import { integrator } from './integrator.ts';
import { limits } from './limits.ts';
import { ordering } from './ordering.ts';
import { overview } from './overview.ts';
import { requests } from './requests.ts';
import { restaurant } from './restaurant.ts';
import { security } from './security.ts';
import { signIn } from './sign-in.ts';
import { support } from './support.ts';
import { users } from './users.ts';

export const it: Texts = {
  frame,
  signIn,
  account,
  restaurant,
  ordering,
  customers,
  support,
  limits,
  overview,
  requests,
  integrator,
  security,
  users,
};
