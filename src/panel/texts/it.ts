/** Italiano. Un file per area in `it/`. */

import type { Texts } from './en.ts';
import { account } from './it/account.ts';
import { frame } from './it/frame.ts';
import { integrator } from './it/integrator.ts';
import { restaurant } from './it/restaurant.ts';
import { security } from './it/security.ts';
import { signIn } from './it/sign-in.ts';
import { support } from './it/support.ts';
import { users } from './it/users.ts';

export const it: Texts = { frame, signIn, account, restaurant, support, integrator, security, users };
