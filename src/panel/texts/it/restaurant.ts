/** Testi dell'area "restaurant". */
import type { Texts } from '../texts.ts';

export const restaurant: Texts['restaurant'] = {};
