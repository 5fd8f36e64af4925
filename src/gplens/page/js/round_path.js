// The path from x0 to x: straight, but for pairs of inputs (cos, sin), which go the shorter way round (MATH 1.13, 1.14).
import { TURN } from "./columns.js";

const SAME_TURN = 1e-9;

/** The pairs of inputs of cyclic columns: where they are, and the circle that they lie on in the units of the kernel. */
export function circlesOf(columns, rate, shift) {
  const circles = [];
  let first = 0;
  for (const { kind, parts, inputs } of columns) {
    const ofParts = kind === "cyclic" ? ["cycle"] : kind === "datetime" ? parts : [];
    let at = first;
    for (const part of ofParts) {
      if (part !== "trend") circles.push({ i: at, j: at + 1, rate: [rate[at], rate[at + 1]], shift: [shift[at], shift[at + 1]] });
      at += part === "trend" ? 1 : 2;
    }
    first += inputs;
  }
  return circles;
}

function polar({ i, j, rate, shift }, x) {
  const c = (x[i] - shift[0]) / rate[0], s = (x[j] - shift[1]) / rate[1], angle = Math.atan2(s, c), radius = Math.hypot(c, s);
  return { radius: Math.abs(radius - 1) <= SAME_TURN ? 1 : radius, angle: angle < -SAME_TURN ? angle + TURN : Math.max(angle, 0) };
}

/** From the angle of x0 to that of x; at half a turn the way that does not pass zero. */
function turnOf(from, to) {
  const turn = to.angle - from.angle;
  if (from.radius <= SAME_TURN) return 0;
  return Math.abs(Math.abs(turn) - Math.PI) <= SAME_TURN ? turn : turn - TURN * Math.round(turn / TURN); // (1.14)
}

/** {d, at(t), step(t)}: x - x0, the point at t and its derivative. */
export function pathBetween(x0, x, circles) {
  const d = x.map((value, k) => value - x0[k]), arcs = [];
  for (const circle of circles) {
    const from = polar(circle, x0), to = polar(circle, x), turn = turnOf(from, to);
    if (turn !== 0) arcs.push({ ...circle, to, turn, growth: to.radius - from.radius });
  }
  const at = (t) => {
    const point = Float64Array.from(d, (step, k) => x0[k] + t * step);
    for (const { i, j, rate, shift, to, turn, growth } of arcs) {
      const radius = to.radius - (1 - t) * growth, angle = to.angle - (1 - t) * turn; // (1.13)
      point[i] = shift[0] + rate[0] * radius * Math.cos(angle);
      point[j] = shift[1] + rate[1] * radius * Math.sin(angle);
    }
    return point;
  };
  const step = (t) => {
    if (!arcs.length) return d;
    const speed = Float64Array.from(d);
    for (const { i, j, rate, to, turn, growth } of arcs) {
      const radius = to.radius - (1 - t) * growth, angle = to.angle - (1 - t) * turn, c = Math.cos(angle), s = Math.sin(angle);
      speed[i] = rate[0] * (growth * c - radius * turn * s);
      speed[j] = rate[1] * (growth * s + radius * turn * c);
    }
    return speed;
  };
  return { d, at, step };
}
