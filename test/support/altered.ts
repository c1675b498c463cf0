/** A credential with another last character: it is wrong whatever it ended with. */
export const altered = (value: string): string => `${value.slice(0, -1)}${value.endsWith('x') ? 'y' : 'x'}`;
