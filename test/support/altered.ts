/** A credential with another character at `index`, by default the last one: it is wrong whatever it was before. */
export const altered = (value: string, index = value.length - 1): string =>
  `${value.slice(0, index)}${value[index] === 'x' ? 'y' : 'x'}${value.slice(index + 1)}`;
