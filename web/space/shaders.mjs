// What is drawn for each pixel. Numbers arrive as textures, red above zero and green below, and are
// coloured here, so that each has its own square however near one is.

/** The light: what lies ahead of a pass that plays is dark, and its edge glows. */
const LIT = `
uniform float front;
float reached(float x) { return 1.0 - smoothstep(front - 2.0, front + 2.0, x); }
float edge(float x) { return exp(-abs(x - front) / 14.0); }
`;

/** Between squares, once they are large enough. */
const LINES = `
float lines(vec2 cell) {
  vec2 px = 1.0 / max(fwidth(cell), 1e-6);
  vec2 gap = abs(fract(cell - 0.5) - 0.5) * px;
  float line = 1.0 - min(smoothstep(0.0, 1.4, gap.x), 1.0) * min(smoothstep(0.0, 1.4, gap.y), 1.0);
  return line * smoothstep(5.0, 14.0, min(px.x, px.y));
}
/** Whether one is near enough to tell squares apart: 0 to 1. */
float nearness(vec2 cell) {
  vec2 px = 1.0 / max(fwidth(cell), 1e-6);
  return smoothstep(0.7, 2.2, min(px.x, px.y));
}
float border(vec2 rim, vec2 here) {
  vec2 px = 1.0 / max(fwidth(here), 1e-6);
  return 1.0 - smoothstep(0.8, 1.8, min(rim.x * px.x, rim.y * px.y));
}
`;

/** One for each token. */
export const TOKEN_VERTEX = `
attribute float token;
varying vec3 at;
varying vec3 face;
varying float lane;
void main() {
  vec4 here = modelMatrix * instanceMatrix * vec4(position, 1.0);
  at = here.xyz;
  face = normal;
  lane = token;
  gl_Position = projectionMatrix * viewMatrix * here;
}`;

/** A lane: its front has the colour of what the model would say there, its lid has its numbers. */
export const LANE_FRAGMENT = `
uniform sampler2DArray values;
uniform sampler2D colours;
uniform float stops[STAGES];
uniform float numbers;
uniform float tokens;
uniform float chosen;
uniform float deep;
uniform float known;
uniform vec3 minus;
varying vec3 at;
varying vec3 face;
varying float lane;
${LIT}${LINES}
void main() {
  float stage = 0.0;
  float turn = 1.0;
  for (int i = 1; i < STAGES; i++) {
    if (at.x > stops[i] - 14.0) {
      stage = float(i);
      turn = smoothstep(stops[i] - 14.0, stops[i] + 4.0, at.x);
    }
  }
  float last = max(stage - 1.0, 0.0);
  float row = (lane + 0.5) / tokens;
  vec3 now = texture(colours, vec2((stage + 0.5) / float(STAGES), row)).rgb;
  vec3 was = texture(colours, vec2((last + 0.5) / float(STAGES), row)).rgb;
  vec3 made = mix(was, now, turn);
  float mine = lane == chosen ? 1.0 : 0.0;
  vec3 colour = made * (face.z > 0.5 ? 0.95 : 0.55);
  if (abs(face.y) > 0.5) {
    float channel = (deep / 2.0 - at.z) / deep;
    vec2 after = texture(values, vec3(channel, 0.5, stage * tokens + lane)).rg;
    vec2 before = texture(values, vec3(channel, 0.5, last * tokens + lane)).rg;
    vec2 value = mix(before, after, turn);
    vec3 bright = mix(made, vec3(0.86, 0.93, 1.0), 0.45);
    vec3 fibres = made * 0.30 + value.r * bright * 1.35 + value.g * minus * 0.45;
    float near = known * max(0.45 * mine, nearness(vec2(0.5, channel * numbers)));
    colour = mix(made * (0.95 + 0.2 * mine), fibres, near);
    colour *= 1.0 - 0.75 * lines(vec2(0.5, channel * numbers));
  }
  float lit = reached(at.x);
  colour = colour * mix(0.14, 0.62 + 0.5 * mine, lit) + vec3(0.55, 0.75, 0.95) * edge(at.x) * 0.8;
  gl_FragColor = vec4(colour, 1.0);
}`;

export const FLAT_VERTEX = `
varying vec2 place;
varying float along;
void main() {
  place = uv;
  vec4 here = modelMatrix * vec4(position, 1.0);
  along = here.x;
  gl_Position = projectionMatrix * viewMatrix * here;
}`;

/** A matrix: a pane of glass that every token passes through. */
export const PANE_FRAGMENT = `
uniform sampler2D values;
uniform vec2 size;
uniform vec3 plus;
uniform vec3 minus;
uniform float known;
uniform float on;
varying vec2 place;
varying float along;
${LIT}${LINES}
void main() {
  vec2 value = texture(values, place).rg * known;
  float strength = value.r + value.g;
  float frame = border(min(place, 1.0 - place) * size, place * size);
  vec3 ink = (value.r * plus + value.g * minus) / max(strength, 0.001);
  float near = nearness(place * size);
  float alpha = mix(0.34, 0.18 + 0.6 * strength, near) + 0.45 * frame;
  vec3 squares = mix(plus * 0.3, ink * 1.25, min(1.0, 0.25 + strength));
  vec3 colour = mix(plus * (0.42 + 0.3 * strength), squares, near) + plus * frame * 0.5;
  colour *= 1.0 - 0.6 * lines(place * size);
  float glow = exp(-abs(along - front) / 30.0);
  colour += plus * glow * 0.8;
  alpha = min(1.0, alpha * (0.35 + 0.65 * reached(along)) + glow * 0.25 + on * 0.15);
  gl_FragColor = vec4(colour * (1.0 + 0.5 * on), alpha);
}`;

export const BAND_VERTEX = `
attribute vec3 tint;
attribute float strength;
attribute float nth;
varying vec3 colour;
varying float alpha;
varying float along;
varying float which;
void main() {
  colour = tint;
  alpha = strength;
  along = position.x;
  which = nth;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

/** An attention weight: a band from what gives to what takes. */
export const BAND_FRAGMENT = `
uniform float chosen;
varying vec3 colour;
varying float alpha;
varying float along;
varying float which;
${LIT}
void main() {
  float on = 1.0 - step(0.5, abs(which - chosen));
  float light = alpha * reached(along) + 0.5 * alpha * edge(along);
  vec3 made = mix(colour, vec3(1.0), 0.35 * on);
  gl_FragColor = vec4(made * min(1.0, light + 0.5 * on), 1.0);
}`;

/** The units of an MLP: each is a stroke, bright where it is active. */
export const WING_FRAGMENT = `
uniform sampler2DArray values;
uniform vec3 tint;
uniform float units;
uniform float wide;
uniform float chosen;
uniform float others;
varying vec3 at;
varying vec3 face;
varying float lane;
${LIT}${LINES}
void main() {
  float unit = 0.5 - at.z / wide;
  vec2 value = texture(values, vec3(unit, 0.5, lane)).rg;
  float strength = min(1.0, 1.5 * (value.r + value.g));
  float mine = lane == chosen ? 1.0 : others;
  vec3 ink = mix(vec3(0.81, 0.89, 1.0), vec3(1.0, 0.80, 0.62), value.g > value.r ? 1.0 : 0.0);
  float gap = 1.0 - 0.7 * lines(vec2(0.5, unit * units));
  float near = max(nearness(vec2(0.5, unit * units)), lane == chosen ? 1.0 : 0.25);
  vec3 colour = tint * 0.5 * mine + ink * strength * mine * near;
  gl_FragColor = vec4(colour * gap * mix(0.12, 1.0, reached(at.x)), 1.0);
}`;

/** A floor: a plate of dark glass, in the shadow of the lanes. */
export const FLOOR_FRAGMENT = `
uniform vec2 size;
uniform float lanes;
uniform float on;
varying vec2 place;
varying float along;
${LIT}${LINES}
void main() {
  vec2 here = (place - 0.5) * size;
  float frame = border(size * 0.5 - abs(here), here);
  float shade = smoothstep(lanes * 0.75, lanes * 0.2, abs(here.y));
  vec3 colour = mix(vec3(0.13, 0.18, 0.24), vec3(0.03, 0.045, 0.06), shade * 0.8);
  colour += vec3(0.45, 0.6, 0.75) * (frame * 0.5 + 0.4 * exp(-abs(along - front) / 60.0) + 0.12 * on);
  gl_FragColor = vec4(colour, 0.8);
}`;
