/** Lists of the staff that commands offer as choices. They load nothing else of it. */
export { roles } from './role.ts';
