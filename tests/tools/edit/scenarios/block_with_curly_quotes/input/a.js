say("it's", 1);
say("it's", 3);
