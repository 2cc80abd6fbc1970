import "./swap.js";
import "./tokens.js";
import "./keys.js";
import "./suggest.js";
import "./complete.js";
import "./brush.js";
import "./views.js";
import "./copy.js";
